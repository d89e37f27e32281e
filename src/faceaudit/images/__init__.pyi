from .pictures import ImageSet as ImageSet
